// What a zip file is for, from the names at its beginning. Nothing is unpacked: a bomb in it stays bytes.

const officeTypes: readonly (readonly [prefix: string, mimeType: string])[] = [
  ['word/', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xl/', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['ppt/', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]
const declaredInside = /^application\/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]{1,40})$/
const headerLength = 30
const maxNames = 64

export function sniffZip(head: Uint8Array): string {
  const names = entryNames(head)
  if (names[0] === 'mimetype') return zipDeclaredType(head) ?? 'application/zip'
  for (const [prefix, mimeType] of officeTypes) if (names.some((name) => name.startsWith(prefix))) return mimeType
  if (names.includes('AndroidManifest.xml')) return 'application/vnd.android.package-archive'
  return names.includes('META-INF/MANIFEST.MF') ? 'application/java-archive' : 'application/zip'
}

/** OpenDocument and EPUB store their type first and uncompressed, so that it can be read like a magic number. */
function zipDeclaredType(head: Uint8Array): string | undefined {
  const view = toDataView(head)
  if (head.length < headerLength || view.getUint16(8, true) !== 0) return undefined
  const start = headerLength + view.getUint16(26, true) + view.getUint16(28, true)
  const text = decodeLatin1(head.subarray(start, start + 100)).split('PK')[0] ?? ''
  return declaredInside.test(text.trim()) ? text.trim() : undefined
}

/** By their signature and not by their lengths: a streamed zip does not know its lengths in advance. */
function entryNames(head: Uint8Array): readonly string[] {
  const view = toDataView(head)
  const names: string[] = []
  for (let at = 0; at + headerLength <= head.length && names.length < maxNames; at += 1) {
    if (view.getUint32(at, true) !== 0x04034b50) continue
    const start = at + headerLength
    names.push(decodeLatin1(head.subarray(start, start + Math.min(view.getUint16(at + 26, true), 200))))
    at = start - 1
  }
  return names
}

function toDataView(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function decodeLatin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes)
}
