// Magic numbers as data: bytes in hexadecimal at an offset, `??` for any byte. The first row that fits wins.

type MagicNumber = readonly [mimeType: string, ...at: readonly (readonly [offset: number, hex: string])[]]

const magicNumbers: readonly MagicNumber[] = [
  ['image/png', [0, '89504e470d0a1a0a']],
  ['image/jpeg', [0, 'ffd8ff']],
  ['image/gif', [0, '474946383761']],
  ['image/gif', [0, '474946383961']],
  ['image/webp', [0, '52494646????????57454250']],
  ['audio/wav', [0, '52494646????????57415645']],
  ['video/x-msvideo', [0, '52494646????????41564920']],
  ['image/tiff', [0, '49492a00']],
  ['image/tiff', [0, '4d4d002a']],
  ['image/x-icon', [0, '00000100']],
  ['image/x-icon', [0, '00000200']],
  ['application/pdf', [0, '255044462d']],
  ['application/zip', [0, '504b0304']],
  ['application/zip', [0, '504b0506']],
  ['application/gzip', [0, '1f8b08']],
  ['application/x-bzip2', [0, '425a68??314159265359']],
  ['application/x-xz', [0, 'fd377a585a00']],
  ['application/zstd', [0, '28b52ffd']],
  ['application/x-7z-compressed', [0, '377abcaf271c']],
  ['application/vnd.rar', [0, '526172211a07']],
  ['application/x-tar', [257, '7573746172']],
  ['audio/mpeg', [0, '494433']],
  ['audio/flac', [0, '664c6143']],
  ['application/x-ole-storage', [0, 'd0cf11e0a1b11ae1']],
  ['application/x-elf', [0, '7f454c46']],
  ['application/x-mach-binary', [0, 'feedface']],
  ['application/x-mach-binary', [0, 'feedfacf']],
  ['application/x-mach-binary', [0, 'cefaedfe']],
  ['application/x-mach-binary', [0, 'cffaedfe']],
  // Also the first bytes of a Java class.
  ['application/x-mach-binary', [0, 'cafebabe']],
  ['application/wasm', [0, '0061736d']],
  ['application/rtf', [0, '7b5c727466']],
  ['application/postscript', [0, '25215053']],
  ['font/woff', [0, '774f4646']],
  ['font/woff2', [0, '774f4632']],
  ['font/ttf', [0, '0001000000']],
  ['font/otf', [0, '4f54544f']],
  ['application/vnd.sqlite3', [0, '53514c69746520666f726d6174203300']],
]

/** The type a magic number stands for; `application/zip` for all that is packed that way. */
export function sniffMagicNumber(head: Uint8Array): string | undefined {
  const row = magicNumbers.find(([, ...at]) => at.every(([offset, hex]) => hasBytesAt(head, offset, hex)))
  if (row !== undefined) return row[0]
  return (
    isoMediaType(head) ??
    oggType(head) ??
    matroskaType(head) ??
    bitmapType(head) ??
    programType(head) ??
    sniffAudioFrame(head)
  )
}

const imageBrands = /^(avif|avis|heic|heix|hevc|hevx|heim|heis|mif1|msf1)$/

/** ISO base media: the brand says whether the box holds a picture, sound or a film. */
function isoMediaType(head: Uint8Array): string | undefined {
  if (latin1Slice(head, 4, 8) !== 'ftyp') return undefined
  const brand = latin1Slice(head, 8, 12)
  if (brand.startsWith('avi')) return 'image/avif'
  if (imageBrands.test(brand)) return 'image/heic'
  if (/^M4[AB] $/.test(brand)) return 'audio/mp4'
  return brand === 'qt  ' ? 'video/quicktime' : 'video/mp4'
}

function oggType(head: Uint8Array): string | undefined {
  if (latin1Slice(head, 0, 4) !== 'OggS') return undefined
  return latin1Slice(head, 28, 35).includes('theora') ? 'video/ogg' : 'audio/ogg'
}

function matroskaType(head: Uint8Array): string | undefined {
  if (!hasBytesAt(head, 0, '1a45dfa3')) return undefined
  return latin1Slice(head, 4, 64).includes('webm') ? 'video/webm' : 'video/x-matroska'
}

/** Two letters alone would make a bitmap of any text beginning with them; the reserved words must be zero as well. */
function bitmapType(head: Uint8Array): string | undefined {
  return hasBytesAt(head, 0, '424d????????00000000') ? 'image/bmp' : undefined
}

/** A Windows program names the place of its second header. */
function programType(head: Uint8Array): string | undefined {
  if (latin1Slice(head, 0, 2) !== 'MZ' || head.length < 64) return undefined
  const at = new DataView(head.buffer, head.byteOffset, head.byteLength).getUint32(60, true)
  const isProgram = hasBytesAt(head, at, '50450000') || head.includes(0)
  return isProgram ? 'application/vnd.microsoft.portable-executable' : undefined
}

/**
 * MPEG audio without a tag in front begins with a frame: eleven set bits, then version, layer and rates that exist. Layer I is
 * left out: it is not in use, and it would swallow the byte order mark of UTF-16.
 */
function sniffAudioFrame(head: Uint8Array): string | undefined {
  const [first = 0, second = 0, third = 0] = head
  if (first !== 0xff || (second & 0xe0) !== 0xe0 || head.length < 4) return undefined
  const layer = (second >> 1) & 3
  if (layer === 0) return (second & 0xf6) === 0xf0 ? 'audio/aac' : undefined
  const isFrame =
    layer !== 3 && ((second >> 3) & 3) !== 1 && third >> 4 !== 15 && third >> 4 !== 0 && ((third >> 2) & 3) !== 3
  return isFrame ? 'audio/mpeg' : undefined
}

function hasBytesAt(head: Uint8Array, offset: number, hex: string): boolean {
  if (offset + hex.length / 2 > head.length) return false
  for (let index = 0; index < hex.length; index += 2) {
    const pair = hex.slice(index, index + 2)
    if (pair !== '??' && head[offset + index / 2] !== Number.parseInt(pair, 16)) return false
  }
  return true
}

function latin1Slice(head: Uint8Array, start: number, end: number): string {
  return new TextDecoder('latin1').decode(head.subarray(start, end))
}
