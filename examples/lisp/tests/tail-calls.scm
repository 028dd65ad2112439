; A million calls in tail position take no room; a hundred thousand that are not do, and there is enough; without an end there is
; an error and not a crash.
(define (count n) (if (= n 0) 'done (count (- n 1))))
(print (count 1000000))

(define (ping n) (if (= n 0) 'ping (pong (- n 1) 'unused)))
(define (pong n x) (if (= n 0) 'pong (ping (- n 1))))
(print (ping 30001))

(define (through-everything n)
  (cond ((= n 0) 'through)
        ((even? n) (and #t (or #f (when #t (let ((m (- n 1))) (begin (through-everything m)))))))
        (else (case 1 ((1) (let* ((m (- n 1))) (apply through-everything (list m))))))))
(print (through-everything 10000))

(define (depth n) (if (= n 0) 0 (+ 1 (depth (- n 1)))))
(print (depth 100000))

(define (build n) (if (= n 0) '() (cons n (build (- n 1)))))
(print (length (build 100000)))

(define (for-ever n) (+ 1 (for-ever n)))
(print (guard (e (#t (error-object-message e))) (for-ever 1)))
(print (depth 1000))
