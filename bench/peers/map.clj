;; Clojure's persistent hash map on the JVM: the same million of integers, with a transient and without.
(set! *unchecked-math* true)

(def n 1000000)

(defn random ^long [^long x]
  (let [x (bit-xor x (unsigned-bit-shift-right x 12))
        x (bit-xor x (bit-shift-left x 25))]
    (bit-xor x (unsigned-bit-shift-right x 27))))

(def keys-array
  (let [a (long-array n)]
    (loop [i 0 x 1]
      (when (< i n)
        (let [y (random x)]
          (aset a i (unchecked-multiply y 2685821657736338717))
          (recur (inc i) (long y)))))
    a))

(defn build-transient [^longs ks]
  (loop [i 0 m (transient {})]
    (if (< i n) (recur (inc i) (assoc! m (aget ks i) i)) (persistent! m))))

(defn build-persistent [^longs ks]
  (loop [i 0 m {}]
    (if (< i n) (recur (inc i) (assoc m (aget ks i) i)) m)))

(defn lookup [^longs ks m]
  (loop [i 0 s 0]
    (if (< i n) (recur (inc i) (+ s (long (get m (aget ks i) 0)))) s)))

(defn iterate-all [m] (reduce-kv (fn [^long s _ ^long v] (+ s v)) 0 m))

(defn best [what f]
  (let [times (doall (for [_ (range 3)]
                       (let [begin (System/nanoTime)] (f) (/ (- (System/nanoTime) begin) (double n)))))]
    (println (format "  %-58s %10.1f ns" (str "clojure: " what) (apply min times)))))

(def shuffled
  (let [a (aclone ^longs keys-array) random (java.util.Random. 1)]
    (doseq [i (range (dec n) 0 -1)]
      (let [j (.nextInt random (int (inc i))) x (aget a i)]
        (aset a i (aget a j))
        (aset a j x)))
    a))

(let [m (build-transient keys-array)]
  (best "insert, transient" #(build-transient keys-array))
  (best "insert, persistent" #(build-persistent keys-array))
  (best "lookup" #(lookup shuffled m))
  (best "iterate" #(iterate-all m)))
(shutdown-agents)
