// PARLEY_SEAL_KEY: one key or several, the newest first, each 32 bytes in hex.
import { type Secret, secret } from '../contract/index.ts'

export const sealKeyPattern = /^\s*[0-9a-f]{64}\s*(?:,\s*[0-9a-f]{64}\s*)*$/i
export const sealKeyAdvice = 'must be 64 hex digits (openssl rand -hex 32), or several with commas'

export function parseSealKeys(given: string | undefined): readonly Secret[] {
  return given === undefined ? [] : given.split(',').map((each) => secret(each.trim()))
}

export function sealKeyBytes(key: Secret): Uint8Array<ArrayBuffer> {
  const hex = key.reveal()
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}
