; Placements of n queens, as lists of columns.
(define (safe? column placed)
  (let loop ((rest placed) (distance 1))
    (or (null? rest)
        (and (not (= (car rest) column))
             (not (= (abs (- (car rest) column)) distance))
             (loop (cdr rest) (+ distance 1))))))

(define (queens n)
  (let place ((row 0) (placed '()))
    (if (= row n)
        (list placed)
        (apply append
               (map (lambda (column) (if (safe? column placed) (place (+ row 1) (cons column placed)) '()))
                    (iota n))))))

(print (map (lambda (n) (length (queens n))) '(1 2 3 4 5 6 7)))
(print (car (queens 8)))
