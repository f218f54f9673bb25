package main

import "slices"

// median is the middle value; of none it is 0.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

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
func medians(batches [][]float64) []float64 { return columns(batches, median) }

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
