// SHA-256 of a text (FIPS 180-4). The platform's own digest is a job for another thread, which costs a small text fifty times
// its hash; a turn with three tools makes two dozen of them. Short texts are therefore hashed here and now. For naming and
// comparing only: nothing secret goes through it, so its timing does not matter.
import { hexOf } from './hmac.ts'

/** From about here on the platform is faster, the way to its thread included. */
const longest = 2048

export async function sha256Hex(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text)
  return hexOf(bytes.length <= longest ? sha256(bytes) : new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}

export function sha256(bytes: Uint8Array): Uint8Array {
  const blocks = Math.ceil((bytes.length + 9) / 64)
  const padded = new Uint8Array(blocks * 64)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(padded.length - 4, bytes.length * 8)
  const state = Int32Array.from(initial)
  const words = new Int32Array(64)
  for (let block = 0; block < blocks; block += 1) {
    for (let index = 0; index < 16; index += 1) words[index] = view.getInt32(block * 64 + index * 4)
    compress(state, words)
  }
  const digest = new DataView(new ArrayBuffer(32))
  state.forEach((word, index) => {
    digest.setInt32(index * 4, word)
  })
  return new Uint8Array(digest.buffer)
}

/** Section 6.2.2; names as there. `words` holds one block in its first sixteen places. */
function compress(state: Int32Array, words: Int32Array): void {
  const at = (list: Int32Array, index: number): number => list[index] ?? 0
  for (let t = 16; t < 64; t += 1) {
    const [w2, w15] = [at(words, t - 2), at(words, t - 15)]
    const sigma1 = rotated(w2, 17) ^ rotated(w2, 19) ^ (w2 >>> 10)
    const sigma0 = rotated(w15, 7) ^ rotated(w15, 18) ^ (w15 >>> 3)
    words[t] = sigma1 + at(words, t - 7) + sigma0 + at(words, t - 16)
  }
  let [a, b, c, d] = [at(state, 0), at(state, 1), at(state, 2), at(state, 3)]
  let [e, f, g, h] = [at(state, 4), at(state, 5), at(state, 6), at(state, 7)]
  for (let t = 0; t < 64; t += 1) {
    const sum1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const t1 = (h + sum1 + ((e & f) ^ (~e & g)) + (constants[t] ?? 0) + at(words, t)) | 0
    const sum0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const t2 = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  const sums = [a, b, c, d, e, f, g, h]
  for (let index = 0; index < 8; index += 1) state[index] = at(state, index) + (sums[index] ?? 0)
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

// Section 5.3.3.
const initial = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]

// Section 4.2.2.
const constants = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
]
