// What bytes are called, and what is kept from browsers because nobody can be sure.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sniffBytes, sniffType } from '../../../src/files/sniff-type.ts'
import { isLinear } from '../../doubles/linear-time.ts'

const hex = (digits: string) => Uint8Array.from(Buffer.from(digits, 'hex'))
const latin1 = (text: string) => Uint8Array.from(Buffer.from(text, 'latin1'))
const utf8 = (text: string) => new TextEncoder().encode(text)
const join = (...parts: readonly Uint8Array[]) => Uint8Array.from(Buffer.concat(parts))
const utf16 = (text: string, isBigEndian: boolean) =>
  Uint8Array.from(
    [...text].flatMap((letter) => {
      const pair = [letter.charCodeAt(0) & 0xff, letter.charCodeAt(0) >> 8]
      return isBigEndian ? pair.toReversed() : pair
    }),
  )

function tar(): Uint8Array {
  const block = new Uint8Array(512)
  block.set(latin1('name.txt'))
  block.set(latin1('ustar'), 257)
  return block
}

function program(): Uint8Array {
  const bytes = new Uint8Array(256)
  bytes.set(latin1('MZ'))
  bytes[60] = 128
  bytes.set(latin1('PE\0\0'), 128)
  return bytes
}

/** Local file headers of a zip, as they follow each other. */
function zip(...entries: readonly (readonly [name: string, content: string])[]): Uint8Array {
  return join(
    ...entries.map(([name, content]) => {
      const header = new Uint8Array(30)
      header.set(latin1('PK\x03\x04'))
      const view = new DataView(header.buffer)
      view.setUint16(26, name.length, true)
      return join(header, latin1(name), latin1(content))
    }),
  )
}

const office = 'application/vnd.openxmlformats-officedocument'
const known: readonly (readonly [mimeType: string, bytes: Uint8Array])[] = [
  ['image/png', hex('89504e470d0a1a0a0000000d49484452')],
  ['image/jpeg', hex('ffd8ffe000104a464946')],
  ['image/gif', latin1('GIF89a\x01\x00\x01\x00')],
  ['image/gif', latin1('GIF87a\x01\x00\x01\x00')],
  ['image/webp', latin1('RIFF\x24\x00\x00\x00WEBPVP8 ')],
  ['image/avif', latin1('\0\0\0\x1cftypavif\0\0\0\0')],
  ['image/heic', latin1('\0\0\0\x18ftypheic\0\0\0\0')],
  ['image/bmp', hex('424d36000000000000003600')],
  ['image/tiff', hex('49492a0008000000')],
  ['image/tiff', hex('4d4d002a00000008')],
  ['image/x-icon', hex('0000010001001010')],
  ['application/pdf', latin1('%PDF-1.7\n%\xe2\xe3')],
  ['application/zip', zip(['notes/a.txt', 'hello'])],
  ['application/zip', hex('504b050600000000')],
  [
    `${office}.wordprocessingml.document`,
    zip(['[Content_Types].xml', '<x/>'], ['_rels/.rels', '<x/>'], ['word/document.xml', '<x/>']),
  ],
  [`${office}.spreadsheetml.sheet`, zip(['[Content_Types].xml', '<x/>'], ['xl/workbook.xml', '<x/>'])],
  [`${office}.presentationml.presentation`, zip(['[Content_Types].xml', '<x/>'], ['ppt/presentation.xml', '<x/>'])],
  [
    'application/vnd.oasis.opendocument.text',
    zip(['mimetype', 'application/vnd.oasis.opendocument.text'], ['content.xml', '']),
  ],
  ['application/epub+zip', zip(['mimetype', 'application/epub+zip'], ['META-INF/container.xml', ''])],
  ['application/java-archive', zip(['META-INF/MANIFEST.MF', ''], ['A.class', ''])],
  ['application/gzip', hex('1f8b0800')],
  ['application/x-bzip2', latin1('BZh91AY&SY')],
  ['application/x-xz', hex('fd377a585a0000')],
  ['application/zstd', hex('28b52ffd00')],
  ['application/x-7z-compressed', hex('377abcaf271c0004')],
  ['application/vnd.rar', hex('526172211a0701')],
  ['application/x-tar', tar()],
  ['audio/mpeg', latin1('ID3\x04\x00')],
  ['audio/mpeg', hex('fffb9064')],
  ['audio/aac', hex('fff15080')],
  ['audio/ogg', join(latin1('OggS'), new Uint8Array(24), latin1('OpusHead'))],
  ['video/ogg', join(latin1('OggS'), new Uint8Array(24), latin1('\x80theora'))],
  ['audio/wav', latin1('RIFF\x24\x00\x00\x00WAVEfmt ')],
  ['audio/flac', latin1('fLaC\0\0\0\x22')],
  ['audio/mp4', latin1('\0\0\0\x20ftypM4A \0\0\0\0')],
  ['video/mp4', latin1('\0\0\0\x20ftypisom\0\0\0\0')],
  ['video/quicktime', latin1('\0\0\0\x14ftypqt  \0\0\0\0')],
  ['video/webm', join(hex('1a45dfa39f4286810142f7810142f2810442f381084282847765626d'))],
  ['video/x-matroska', join(hex('1a45dfa3a34286810142f7810142f2810442f381084282886d6174726f736b61'))],
  ['application/x-elf', hex('7f454c46020101')],
  ['application/vnd.microsoft.portable-executable', program()],
  ['application/x-mach-binary', hex('cffaedfe07000001')],
  ['application/wasm', hex('0061736d01000000')],
  ['application/rtf', latin1('{\\rtf1\\ansi')],
  ['application/postscript', latin1('%!PS-Adobe-3.0')],
  ['font/ttf', hex('00010000000c0080')],
  ['font/woff', latin1('wOFF\0\x01\0\0')],
  ['font/woff2', latin1('wOF2\0\x01\0\0')],
  ['application/vnd.sqlite3', latin1('SQLite format 3\0')],
  ['text/plain', utf8('Hello, world.\n帮我看看这张图')],
  ['text/plain', utf8('{"a": 1, "b": "<script>"}')],
  ['text/plain', utf8('<3 you all')],
  ['text/plain', utf8('# Notes\n\n- MZ is a prefix\n- BM too')],
  ['text/plain', utf8('BMW is a make of car')],
  ['text/plain', utf8('MZ is the code of Mozambique, and this line is long enough for sixty-four bytes')],
  ['text/plain', utf16('\ufeffhello', false)],
  ['application/octet-stream', hex('0001020304fffefd')],
  ['application/octet-stream', hex('')],
]

describe('sniffing', () => {
  test.each(known)('calls these bytes %s', (mimeType, bytes) => {
    expect(sniffType(bytes)).toEqual({ mimeType, isActive: false })
  })

  const pages =
    '<!doctype html><p>hi|<HTML>|<html lang=en>|<script>x</script>|<body onload=x>|<iframe src=x>|<svg:svg>|<p>|<a href=x>|<!-- c --><html>|<!-- never closed'
  const markup: readonly (readonly [mimeType: string, bytes: Uint8Array])[] = [
    ...pages.split('|').map((page) => [page === '<svg:svg>' ? 'image/svg+xml' : 'text/html', utf8(page)] as const),
    ['text/html', utf8(' \r\n\t<html>')],
    ['text/html', utf8('\ufeff<html>')],
    ['text/html', utf8('<!-- a --> <!-- b -->\n<script>')],
    ['text/html', utf16('\ufeff<html>', false)],
    ['text/html', utf16('\ufeff<html>', true)],
    ['text/html', utf16('<html><script>', false)],
    ['text/html', utf16('<html><script>', true)],
    ['image/svg+xml', utf8('<svg xmlns="http://www.w3.org/2000/svg" onload="x"/>')],
    ['image/svg+xml', utf8('<?xml version="1.0"?>\n<!-- c -->\n<svg onload="x"/>')],
    ['image/svg+xml', utf8('<!DOCTYPE svg PUBLIC "x"><svg>')],
    ['application/xhtml+xml', utf8('<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">')],
    ['text/xml', utf8('<?xml version="1.0"?><feed/>')],
    ['text/xml', utf8('<?xml-stylesheet href="javascript:x"?><a/>')],
    ['text/xml', utf8('<custom-element onclick=x>')],
  ]
  test.each(markup)('calls markup %s, and active', (mimeType, bytes) => {
    expect(sniffType(bytes)).toEqual({ mimeType, isActive: true })
  })

  const polyglots: Readonly<Record<string, Uint8Array>> = {
    'a GIF that begins a script': latin1('GIF89a/*\x01\x02*/=1;alert(1)//'),
    'a GIF that is a variable': latin1('GIF89a=1;alert(1)//'),
    'a GIF with a page in it': latin1('GIF89a\x01\x00<script>alert(1)</script>'),
    'a bitmap with a page in it': join(hex('424d0000000000000000'), latin1('<html><script>')),
    'a PNG with a page near its beginning': join(hex('89504e470d0a1a0a'), latin1('....tEXt<svg onload=x>')),
    'a PDF that does not begin as one': latin1('\x00\x01junk %PDF-1.4'),
    'text that contains a PDF': latin1('# Title\n%PDF-1.4\n'),
    'a PDF with a page in it': latin1('%PDF-1.4\n<html><script>alert(1)</script>'),
    'an MP3 tag with script': latin1('ID3=1/*'),
    'unknown bytes with a page in UTF-16': join(hex('00010203'), utf16('<script>', true)),
    'unknown bytes with a page': join(hex('00010203'), latin1('<IFRAME src=x>')),
  }
  test.each(Object.entries(polyglots))('takes no side about %s', (_name, bytes) => {
    expect(sniffType(bytes)).toEqual({ mimeType: 'application/octet-stream', isActive: true })
  })

  test('leaves a photograph with metadata or a comment a photograph', () => {
    const comment = join(hex('ffd8fffe0040'), latin1('<html><script>alert(1)</script>'))
    const xmp = join(hex('ffd8ffe10040'), latin1('http://ns.adobe.com/xap/1.0/\0<?xpacket begin=""?><x:xmpmeta>'))
    expect([sniffType(comment), sniffType(xmp)].map(({ mimeType }) => mimeType)).toEqual(['image/jpeg', 'image/jpeg'])
  })

  test('looks at nothing inside a packed file', () => {
    const bomb = zip(['<script>alert(1)</script>', '<html>'.repeat(100)])
    expect(sniffType(bomb)).toEqual({ mimeType: 'application/zip', isActive: false })
  })

  test('cuts no character in half at the end of what it sees', () => {
    const text = utf8(`${'a'.repeat(sniffBytes - 1)}图`)
    expect(sniffType(text.subarray(0, sniffBytes))).toEqual({ mimeType: 'text/plain', isActive: false })
  })

  test('answers for any bytes, and never calls a page anything that is shown', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom('', ' \n', '\ufeff', '<!-- x -->'),
        (tail, before) => {
          expect(sniffType(join(utf8(`${before}<script>`), tail)).isActive).toBe(true)
          expect(typeof sniffType(tail).mimeType).toBe('string')
        },
      ),
    )
  })

  test('takes time that grows with the bytes and no faster', () => {
    const sniffed = (bytes: Uint8Array) => () => {
      for (let turn = 0; turn < 20; turn += 1) sniffType(bytes)
    }
    const hostile = ['<!---->', '<', 'PK\x03\x04', '<!--', '<a ', '\0<', '<?'].map((piece) =>
      latin1(piece.repeat(sniffBytes)),
    )
    for (const bytes of hostile) {
      expect(isLinear(sniffed(bytes.subarray(0, sniffBytes / 2)), sniffed(bytes))).toBe(true)
    }
  })
})
