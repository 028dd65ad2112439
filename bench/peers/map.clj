;; Clojure's persistent hash map on the JVM, with a million integers, with and without a transient.
;; On a machine so busy that this would take minutes, it uses fewer integers and says so.
(set! *unchecked-math* true)

(def many 1000000)
(def few 100000)
(def passes 12) ; over all keys, in the whole of a run
(def seconds-for-all 30.0)
(def seconds-for-each 8.0) ; no other round is begun after that

(defn random ^long [^long x]
  (let [x (bit-xor x (unsigned-bit-shift-right x 12))
        x (bit-xor x (bit-shift-left x 25))]
    (bit-xor x (unsigned-bit-shift-right x 27))))

(defn make-keys ^longs [^long n]
  (let [a (long-array n)]
    (loop [i 0 x 1]
      (when (< i n)
        (let [y (random x)]
          (aset a i (unchecked-multiply y 2685821657736338717))
          (recur (inc i) (long y)))))
    a))

(defn shuffle-keys ^longs [^longs from]
  (let [a (aclone from) random (java.util.Random. 1)]
    (loop [i (dec (alength a))]
      (when (> i 0)
        (let [j (.nextInt random (int (inc i))) x (aget a i)]
          (aset a i (aget a j))
          (aset a j x)
          (recur (dec i)))))
    a))

(defn build-transient [^longs ks]
  (loop [i 0 m (transient {})]
    (if (< i (alength ks)) (recur (inc i) (assoc! m (aget ks i) i)) (persistent! m))))

(defn build-persistent [^longs ks]
  (loop [i 0 m {}]
    (if (< i (alength ks)) (recur (inc i) (assoc m (aget ks i) i)) m)))

(defn lookup [^longs ks m]
  (loop [i 0 s 0]
    (if (< i (alength ks)) (recur (inc i) (+ s (long (get m (aget ks i) 0)))) s)))

(defn iterate-all [m] (reduce-kv (fn [^long s _ ^long v] (+ s v)) 0 m))

(defn seconds [f]
  (let [begin (System/nanoTime)] (f) (/ (- (System/nanoTime) begin) 1e9)))

(defn best [what n f]
  (let [times (loop [times []]
                (if (or (= (count times) 3) (> (reduce + times) seconds-for-each)) times (recur (conj times (seconds f)))))]
    (println (format "  %-58s %10.1f ns" (str "clojure: " what) (/ (* 1e9 (apply min times)) n)))
    (flush)))

(let [probe (make-keys few)
      took (apply min (doall (for [_ (range 4)] (seconds #(build-persistent probe)))))
      n (if (< (* took passes (/ many few)) seconds-for-all) many few)
      ks (make-keys n)
      shuffled (shuffle-keys ks)
      m (build-transient ks)]
  (println (format "  (clojure: maps of %d%s)" n (if (< n many) ", since the machine is busy" "")))
  (best "insert, transient" n #(build-transient ks))
  (best "insert, persistent" n #(build-persistent ks))
  (best "lookup" n #(lookup shuffled m))
  (best "iterate" n #(iterate-all m)))
(shutdown-agents)
