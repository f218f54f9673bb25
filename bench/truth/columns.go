package main

import "github.com/sonde-jvm/sonde/bench/spread"

func mean(values []float64) float64 {
	var sum float64
	for _, value := range values {
		sum += value
	}
	return sum / float64(max(len(values), 1))
}

// means is the mean of each column.
func means(batches [][]float64) []float64 { return columns(batches, mean) }

// medians is the median of each column.
func medians(batches [][]float64) []float64 { return columns(batches, spread.Median) }

func columns(batches [][]float64, figure func([]float64) float64) []float64 {
	if len(batches) == 0 {
		return nil
	}
	figures := make([]float64, len(batches[0]))
	for column := range figures {
		values := make([]float64, 0, len(batches))
		for _, batch := range batches {
			values = append(values, batch[column])
		}
		figures[column] = figure(values)
	}
	return figures
}
