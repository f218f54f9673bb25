module github.com/sonde-jvm/sonde

go 1.26
