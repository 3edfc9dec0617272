// Ids that sort by time (RFC 9562, version 7). Clock and randomness are parameters, as everywhere.

export type IdSource = () => string

export function createIdSource(now: () => number, fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void): IdSource {
  return () => {
    const bytes = new Uint8Array(16)
    fillRandom(bytes)
    const view = new DataView(bytes.buffer)
    const time = now()
    view.setUint16(0, Math.floor(time / 2 ** 32))
    view.setUint32(2, time % 2 ** 32)
    view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70)
    view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80)
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }
}
