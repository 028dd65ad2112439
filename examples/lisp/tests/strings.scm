(print (string-length "hello") (string-ref "hello" 1) (substring "hello" 1 3) (substring "hello" 3))
(write (list "a\"b\\c\n\td" #\a #\space #\newline #\( ""))
(newline)
(print (string-append "con" "cat" "" "enate") " " (string=? "a" "a") (string<? "a" "b") (string<? "ab" "a"))
(print (string->number "123") " " (string->number "-7") " " (string->number "12x") " " (number->string -45))
(print (string->symbol "sym") (eq? 'sym (string->symbol "sym")) (symbol->string 'abc))
(print (string->list "abc") (list->string (list #\x #\y)) (string #\a #\b) (string-upcase "shout") (make-string 3 #\z))
(print (string-search "lo" "hello") (string-search "xx" "hello") (string-search "l" "hello" 3))
(write (string-split "a,b,,c" ","))
(write (string-join '("x" "y" "z") "--"))
(newline)
(print (char->integer #\A) (integer->char 97) (char-alphabetic? #\a) (char-numeric? #\5) (char-upcase #\q))
(print (equal? "abc" (string-append "a" "bc")) (eq? "abc" (string-append "a" "bc")) (string? "x") (string? 'x))

; Building a long one piece by piece.
(define (digits n) (if (= n 0) "" (string-append (digits (- n 1)) (number->string (remainder n 10)))))
(define long (digits 2000))
(print (string-length long) " " (substring long 0 20) " " (substring long 1990))

; Many symbols, made twice: they are the same.
(define (names prefix n) (map (lambda (i) (string->symbol (string-append prefix (number->string i)))) (iota n)))
(print (every (lambda (pair) (eq? (car pair) (cdr pair))) (map cons (names "sym-" 1000) (names "sym-" 1000))))

(define (reverse-string s) (list->string (reverse (string->list s))))
(define (palindrome? s) (string=? s (reverse-string s)))
(print (palindrome? "amanaplanacanalpanama") (palindrome? "coex"))

(define (caesar s n)
  (list->string (map (lambda (c)
                       (if (char-alphabetic? c)
                           (integer->char (+ 97 (modulo (+ n (- (char->integer c) 97)) 26)))
                           c))
                     (string->list s))))
(print (caesar "hello, world" 13) " | " (caesar (caesar "hello, world" 13) 13))

; One allocation, however long.
(print (make-string 3 #\a) "[" (make-string 2) "]" (string-length (make-string 3000000 #\x)) (make-string 0 #\a))
(define (try thunk) (guard (e (#t (print (error-object-message e)))) (thunk)))
(try (lambda () (make-string -1 #\a)))
(try (lambda () (make-string 2 "a")))
