(define a (atom 1))
(print (deref a) (reset! a 2) (swap! a + 10) (swap! a * 2 2) " " a)
(print (compare-and-set! a 48 'changed) (compare-and-set! a 48 'again) (deref a))

; Four futures count to the same place; nothing gets lost.
(define counter (atom 0))
(define (count-up n) (when (> n 0) (swap! counter + 1) (count-up (- n 1))))
(define workers (map (lambda (i) (future (count-up 2500))) (iota 4)))
(for-each touch workers)
(print (deref counter))

; A list that all of them push to, and a list of those who did.
(define box (atom '()))
(define (push-all from to) (when (< from to) (swap! box (lambda (list) (cons from list))) (push-all (+ from 1) to)))
(for-each touch (map (lambda (i) (future (push-all (* i 500) (* (+ i 1) 500)))) (iota 4)))
(print (length (deref box)) " " (equal? (sort (deref box) <) (iota 2000)))

; Atoms that refer to each other, in a ring of garbage that is made again and again.
(define (ring n)
  (let* ((first (atom #f)))
    (let loop ((i 1) (last first))
      (if (= i n)
          (begin (reset! last first) first)
          (let ((next (atom #f))) (reset! last next) (loop (+ i 1) next))))))
(define (ring-length r) (let loop ((at (deref r)) (n 1)) (if (eq? at r) n (loop (deref at) (+ n 1)))))
(print (map (lambda (n) (ring-length (ring n))) '(1 2 10 1000)))
