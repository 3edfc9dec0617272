// HMAC on Node (hop 2): computed at once. WebCrypto would hand each body to another thread, which costs more than the sum.
// Of two plain hashes (RFC 2104), because making a native HMAC object for each body costs more than hashing it.
import { hash } from 'node:crypto'
import type { Hmac } from '../contract/index.ts'

const blockBytes = 64
const digestBytes = 32
// Secrets come from the configuration, so a handful; the bound only guards against a caller that invents them.
const maxKeys = 64

type Pads = { readonly inner: Uint8Array; readonly outer: Uint8Array }

export function nodeHmac(): Hmac {
  const known = new Map<string, Pads>()
  const cachedHmacPads = (secret: string): Pads => {
    const found = known.get(secret)
    if (found !== undefined) return found
    const oldest = known.size >= maxKeys ? known.keys().next().value : undefined
    if (oldest !== undefined) known.delete(oldest)
    const pads = hmacPads(Buffer.from(secret))
    known.set(secret, pads)
    return pads
  }
  return {
    sha256(secret, bytes) {
      const { inner, outer } = cachedHmacPads(secret)
      return hash('sha256', concatBytes(outer, hash('sha256', concatBytes(inner, bytes), 'buffer')), 'buffer')
    },
  }
}

function hmacPads(secret: Uint8Array): Pads {
  const key = new Uint8Array(blockBytes)
  key.set(secret.length > blockBytes ? hash('sha256', secret, 'buffer').subarray(0, digestBytes) : secret)
  return { inner: key.map((byte) => byte ^ 0x36), outer: key.map((byte) => byte ^ 0x5c) }
}

function concatBytes(head: Uint8Array, rest: Uint8Array): Uint8Array {
  const whole = Buffer.allocUnsafe(head.length + rest.length)
  whole.set(head)
  whole.set(rest, head.length)
  return whole
}
