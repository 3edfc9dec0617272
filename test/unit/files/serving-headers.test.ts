// How stored files are answered: what runs is saved, what is shown cannot run.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseRange, servingHeaders } from '../../../src/files/serve-file.ts'

const file = (mimeType: string, name: string | null = 'a.bin') => ({
  mimeType,
  name,
  sha256: 'ab'.repeat(32),
  path: 'agent-inputs/k.bin',
})

describe('the headers of a stored file', () => {
  test('are safe for every type', () => {
    expect(servingHeaders(file('image/png', 'cat.png'))).toEqual({
      'content-type': 'image/png',
      'content-disposition': `inline; filename="cat.png"; filename*=UTF-8''cat.png`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-store',
      'accept-ranges': 'bytes',
      etag: `"${'ab'.repeat(32)}"`,
    })
  })

  test.each(['text/html', 'image/svg+xml', 'text/xml', 'application/xhtml+xml', 'application/x-elf', 'x/unheard-of'])(
    'never say %s, and save it',
    (mimeType) => {
      const headers = servingHeaders(file(mimeType))
      expect(headers['content-type']).toBe('application/octet-stream')
      expect(headers['content-disposition']).toMatch(/^attachment;/)
    },
  )

  test('save a PDF under its own type and show text in its encoding', () => {
    const [pdf, text] = [servingHeaders(file('application/pdf')), servingHeaders(file('text/plain'))]
    expect([pdf['content-type'], pdf['content-disposition']?.split(';')[0]]).toEqual(['application/pdf', 'attachment'])
    expect([text['content-type'], text['content-disposition']?.split(';')[0]]).toEqual([
      'text/plain; charset=utf-8',
      'inline',
    ])
  })

  test('carry any name without a way out of the header', () => {
    expect(servingHeaders(file('image/png', `a"b\r\nSet-Cookie: x'(图).png`))['content-disposition']).toBe(
      `inline; filename="a_b__Set-Cookie_ x_(_).png"; filename*=UTF-8''a%22b%0D%0ASet-Cookie%3A%20x%27%28%E5%9B%BE%29.png`,
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const value = servingHeaders(file('image/png', name))['content-disposition'] ?? ''
        expect(value).toMatch(/^inline; filename="[A-Za-z0-9 ._()-]*"; filename\*=UTF-8''[A-Za-z0-9%._~-]*$/)
        expect(new Headers({ 'content-disposition': value }).get('content-disposition')).toBe(value)
      }),
    )
  })

  test('name a file without a name by its key', () => {
    expect(servingHeaders(file('image/png', null))['content-disposition']).toContain('filename="k.bin"')
  })
})

describe('a Range header', () => {
  const part = (start: number, end: number, size = 100) => ({
    kind: 'part',
    range: { start, end },
    contentRange: `bytes ${start}-${end}/${size}`,
  })
  const unsatisfiable = { kind: 'unsatisfiable', contentRange: 'bytes */100' }
  const whole = { kind: 'whole' }
  const cases: readonly (readonly [header: string | undefined, reading: object])[] = [
    [undefined, whole],
    ['bytes=0-0', part(0, 0)],
    ['bytes=0-', part(0, 99)],
    ['bytes=10-19', part(10, 19)],
    ['bytes=90-1000', part(90, 99)],
    ['bytes=-10', part(90, 99)],
    ['bytes=-1000', part(0, 99)],
    ['Bytes = 1-2', part(1, 2)],
    ['bytes=99-', part(99, 99)],
    ['bytes=100-', unsatisfiable],
    ['bytes=100-200', unsatisfiable],
    ['bytes=-0', unsatisfiable],
    ['bytes=0-1,5-6', whole],
    ['bytes=5-1', whole],
    ['bytes=-', whole],
    ['bytes=a-b', whole],
    ['bytes=1e1-20', whole],
    ['items=0-1', whole],
    ['bytes=99999999999999999999-', whole],
  ]
  test.each(cases)('%j of a hundred bytes', (header, reading) => {
    expect(parseRange(header, 100)).toEqual(reading)
  })

  test('of nothing is not satisfiable', () => {
    expect(parseRange('bytes=0-', 0)).toEqual({ kind: 'unsatisfiable', contentRange: 'bytes */0' })
  })
})
