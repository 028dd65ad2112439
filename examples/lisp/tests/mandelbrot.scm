; The Mandelbrot set in integers: 1.0 is 4096.
(define one 4096)
(define (times a b) (quotient (* a b) one))

(define (escape-time cx cy limit)
  (let loop ((x 0) (y 0) (n 0))
    (let ((xx (times x x)) (yy (times y y)))
      (if (or (= n limit) (> (+ xx yy) (* 4 one)))
          n
          (loop (+ cx (- xx yy)) (+ cy (* 2 (times x y))) (+ n 1))))))

(define shades (list->vector (string->list " .:-=+*#%@")))
(define (shade n limit) (vector-ref shades (quotient (* n 9) limit)))

(define (row y width limit)
  (list->string
   (map (lambda (i) (shade (escape-time (- (quotient (* i 3 one) width) (* 2 one)) y limit) limit)) (iota width))))

; Every row on its own thread.
(define height 20)
(define rows (map (lambda (j) (future (row (- (quotient (* j 2 one) (- height 1)) one) 60 30))) (iota height)))
(for-each (lambda (r) (print "|" (touch r) "|")) rows)
