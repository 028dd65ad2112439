; Memory has an end, and that is an error like any other.
; with COEX_GC=heap=8MiB,heaplimit=8MiB
(define (grow list) (grow (cons (make-vector 100 0) list)))
(define (try thunk) (guard (e (#t (error-object-message e))) (thunk)))
(print (try (lambda () (grow '()))))
(print (try (lambda () (make-vector 100000000 0))))
(define (double s) (double (string-append s s)))
(print (try (lambda () (double "0123456789"))))

; Everything that was made in vain is garbage, and there is room again.
(print (length (map (lambda (i) (make-vector 100 i)) (iota 100))))
(print (try (lambda () (touch (future (grow '()))))))
(print (length (iota 1000)))
