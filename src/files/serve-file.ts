// Serves a stored file: whole, in a range, or not modified, under headers that make it inert. Who may ask was judged before.
import { GatewayError } from '../lib/errors.ts'
import type { AttachmentDescriptor, AttachmentService } from './attachment.ts'
import type { ByteRange } from './blob-store.ts'

/** Parts of a file, and files that are known already (RFC 9110). */
const fileStatus = { whole: 200, part: 206, notModified: 304, unsatisfiable: 416 } as const

export async function serveFile(
  { open }: Pick<AttachmentService, 'open'>,
  request: Request,
  file: AttachmentDescriptor,
): Promise<Response> {
  const headers: Record<string, string> = { ...servingHeaders(file) }
  const { etag = '' } = headers
  if (matchesEtag(request.headers.get('if-none-match'), etag))
    return new Response(null, {
      status: fileStatus.notModified,
      headers: { etag, 'cache-control': 'private, no-store' },
    })
  const condition = request.headers.get('if-range')
  const asked = condition === null || condition === etag ? request.headers.get('range') : null
  const reading = parseRange(asked, file.size)
  if (reading.kind === 'unsatisfiable')
    return new Response(null, { status: fileStatus.unsatisfiable, headers: { 'content-range': reading.contentRange } })
  const range = reading.kind === 'part' ? reading.range : undefined
  headers['content-length'] = String(range === undefined ? file.size : range.end - range.start + 1)
  if (reading.kind === 'part') headers['content-range'] = reading.contentRange
  const status = range === undefined ? fileStatus.whole : fileStatus.part
  // A body would be neither read nor closed.
  if (request.method === 'HEAD') return new Response(null, { status, headers })
  const body = await open(file, range)
  if (body === undefined) throw new GatewayError('not_found', 'this file is gone; send it again')
  return new Response(body, { status, headers })
}

function matchesEtag(given: string | null, etag: string): boolean {
  if (given === null) return false
  return given.trim() === '*' || given.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}

// A Range header (RFC 9110 §14) to one range of bytes. Whatever is more than that is answered with the whole file, as it allows.

export type RangeReading =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly range: ByteRange; readonly contentRange: string }
  /** 416, with this in Content-Range. */
  | { readonly kind: 'unsatisfiable'; readonly contentRange: string }

const singleRange = /^bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i

export function parseRange(header: string | null | undefined, size: number): RangeReading {
  const [, from, to] = singleRange.exec(header ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return { kind: 'whole' }
  // A suffix: the last so many bytes.
  if (from === '') return checkRangeAgainstSize(Math.max(0, size - Number(to)), size - 1, size)
  if (to !== '' && Number(to) < Number(from)) return { kind: 'whole' }
  return checkRangeAgainstSize(Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1), size)
}

function checkRangeAgainstSize(start: number, end: number, size: number): RangeReading {
  if (start >= size) return { kind: 'unsatisfiable', contentRange: `bytes */${size}` }
  return { kind: 'part', range: { start, end }, contentRange: `bytes ${start}-${end}/${size}` }
}

// Headers let a browser do nothing with a file but show or save it. Active and unknown types never leave under their own name.

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
