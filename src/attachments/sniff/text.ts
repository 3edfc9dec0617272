// Whether bytes are text that may be shown as such.

const allowedControls = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x1b])

/** Valid UTF-8 (or UTF-16 with its mark) without control characters that no text has. A cut-off last character is no fault. */
export function isPlainText(head: Uint8Array): boolean {
  if (head.length === 0) return false
  const encoding = utf16Encoding(head)
  if (encoding === undefined && head.some(isBinaryControl)) return false
  try {
    // `stream` leaves the bytes of an unfinished last character for later instead of failing on them.
    const text = new TextDecoder(encoding ?? 'utf-8', { fatal: true, ignoreBOM: false }).decode(head, { stream: true })
    return encoding === undefined || !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text)
  } catch {
    return false
  }
}

function utf16Encoding(head: Uint8Array): string | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : undefined
}

function isBinaryControl(byte: number): boolean {
  return (byte < 0x20 && !allowedControls.has(byte)) || byte === 0x7f
}
