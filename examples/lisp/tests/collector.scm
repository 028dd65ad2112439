; The collector as the language sees it.
(define (stat name) (cdr (assq name (gc-stats))))

(define before (stat 'collections))
(gc)
(gc)
(print (>= (- (stat 'collections) before) 2))

; What is dropped goes away: the number of handles in use does not grow with what was ever allocated.
(define (garbage n) (when (> n 0) (iota 100) (garbage (- n 1))))
(gc)
(define in-use (stat 'handles-in-use))
(define allocated (stat 'allocations))
(garbage 1000)
(gc)
(print (> (- (stat 'allocations) allocated) 100000) (< (- (stat 'handles-in-use) in-use) 50000))

; What is kept stays: a chain through everything that holds references.
(define (wrap x n)
  (if (= n 0)
      x
      (let ((inner (wrap x (- n 1))))
        (case (modulo n 5)
          ((0) (list inner))
          ((1) (vector inner))
          ((2) (atom inner))
          ((3) (lambda () inner))
          (else (future inner))))))
(define (unwrap x n)
  (cond ((= n 0) x)
        (else (unwrap (case (modulo n 5)
                        ((0) (car x))
                        ((1) (vector-ref x 0))
                        ((2) (deref x))
                        ((3) (x))
                        (else (touch x)))
                      (- n 1)))))
(define chain (wrap (list "at" 'the #\b) 50))
(garbage 100)
(gc)
(garbage 100)
(print (unwrap chain 50))

; A queue that moves on: always a thousand alive, always new ones.
(define (rotate queue n) (if (= n 0) queue (rotate (append (cdr queue) (list (cons n n))) (- n 1))))
(print (length (rotate (map (lambda (i) (cons i i)) (iota 100)) 100)))
