// How a stored file is answered so that a browser can do nothing with it but show or save it. Active and unknown types never
// leave under their own name.
import type { AttachmentDescriptor } from './descriptor.ts'

/** Shown in place; everything else is saved. PDF runs script in some readers and is saved as well. */
const shownTypes = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/heic',
  'image/bmp',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/flac',
  'audio/aac',
  'audio/mp4',
  'video/mp4',
  'video/webm',
  'video/ogg',
  'video/quicktime',
  'text/plain',
])
/** Saved under their own name: programs open them, browsers run nothing of them. */
const savedTypes =
  /^(?:text\/(?:csv|tab-separated-values)|image\/(?:tiff|x-icon)|video\/x-[a-z]+|application\/(?:pdf|zip|gzip|zstd|x-tar|x-xz|x-bzip2|x-7z-compressed|vnd\.rar|rtf|epub\+zip|vnd\.openxmlformats-officedocument\.[a-z.]+|vnd\.oasis\.opendocument\.[a-z-]+))$/

export type ServedFile = Pick<AttachmentDescriptor, 'mimeType' | 'name' | 'sha256' | 'path'>

/** Of the whole object; an answer to a range adds its length and place. */
export function servingHeaders(file: ServedFile): Readonly<Record<string, string>> {
  return {
    'content-type': servedContentType(file.mimeType),
    'content-disposition': contentDisposition(file),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    // A page of another origin may show what its reader was given; without the token no request gets this far.
    'cross-origin-resource-policy': 'cross-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
    'accept-ranges': 'bytes',
    etag: `"${file.sha256}"`,
  }
}

/** Active and unknown bytes are octets. */
export function servedContentType(mimeType: string): string {
  if (mimeType === 'text/plain') return 'text/plain; charset=utf-8'
  return shownTypes.has(mimeType) || savedTypes.test(mimeType) ? mimeType : 'application/octet-stream'
}

function contentDisposition({ mimeType, name, path }: ServedFile): string {
  const kind = shownTypes.has(mimeType) ? 'inline' : 'attachment'
  return `${kind}; ${fileNameParameters(name ?? path.split('/').at(-1) ?? 'file')}`
}

/** RFC 6266: a plain name for old readers, then the true one. Only characters that end neither of them stay as they are. */
function fileNameParameters(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9 ._()-]/g, '_').slice(0, 200)
  return `filename="${plain}"; filename*=UTF-8''${encodeExtendedValue(name)}`
}

/** RFC 5987: percent-encoded UTF-8, with the few marks that encodeURIComponent leaves but the grammar does not. */
function encodeExtendedValue(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /['()*!]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
