# Reads an export by its address; prints the number of its rows, a sum and the last line's cursor.
arguments <- commandArgs(trailingOnly = TRUE)
found <- read.csv(arguments[1], colClasses = "character")
cat(nrow(found), sum(as.numeric(found[[arguments[2]]])), tail(found$cursor, 1), "\n")
