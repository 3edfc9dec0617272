// Mails as bytes, written out by hand: what a library would put right must stay wrong here.

export type Bytes = string | Uint8Array

const encoder = new TextEncoder()

export function bytesOf(...pieces: readonly Bytes[]): Uint8Array {
  const parts = pieces.map((piece) =>
    typeof piece === 'string' ? encoder.encode(piece.replace(/\r?\n/g, '\r\n')) : piece,
  )
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** One part, or a whole mail: header lines, an empty line, a body. */
export function part(head: string, body: Bytes): Uint8Array {
  return bytesOf(`${head}${head === '' ? '' : '\n'}\n`, body)
}

export function multipart(subtype: string, parts: readonly Uint8Array[], boundary = 'b1'): Uint8Array {
  const lines = parts.flatMap((each) => [bytesOf(`--${boundary}\n`), each, bytesOf('\n')])
  return part(`Content-Type: multipart/${subtype}; boundary="${boundary}"`, bytesOf(...lines, `--${boundary}--\n`))
}

/** The head every mail has, before a part that is all of it. */
export function mail(body: Uint8Array): Uint8Array {
  return bytesOf('From: Ann <ann@x.example>\nTo: agent@y.example\nSubject: Thursday\nMIME-Version: 1.0\n', body)
}

export const text = (words: Bytes, more = ''): Uint8Array =>
  part(`Content-Type: text/plain; charset=utf-8${more}`, words)
export const html = (markup: Bytes): Uint8Array => part('Content-Type: text/html; charset=utf-8', markup)

export function base64(bytes: Bytes): string {
  const raw = typeof bytes === 'string' ? encoder.encode(bytes) : bytes
  return btoa(Array.from(raw, (byte) => String.fromCharCode(byte)).join('')).replace(/.{76}/g, '$&\n')
}

export function file(name: string, type = 'application/pdf', bytes: Bytes = '%PDF-1.7'): Uint8Array {
  const head = `Content-Type: ${type}\nContent-Disposition: attachment; filename="${name}"\nContent-Transfer-Encoding: base64`
  return part(head, base64(bytes))
}
