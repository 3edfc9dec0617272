// HMAC on Node (hop 2): computed at once. WebCrypto would hand each body to another thread, which costs more than the sum.
import { createHmac } from 'node:crypto'
import type { Hmac } from '../contract/index.ts'

export function nodeHmac(): Hmac {
  return { sha256: (secret, bytes) => createHmac('sha256', secret).update(bytes).digest() }
}
