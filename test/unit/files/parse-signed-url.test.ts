// Whatever is written as a URL, what comes out is an object below an allowed prefix or a refusal.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { listSignedUrlOrigins, parseSignedUrl } from '../../../src/files/parse-signed-url.ts'
import { scaled } from '../../setup/scale.ts'

const stores = [
  { name: 'supabase', bucket: 'agent-files', urls: { hosts: ['xxx.supabase.co'], form: 'supabase' } },
  { name: 's3', bucket: 'agent-inbox', urls: { hosts: ['s3.example'], form: 's3', isVirtualHosted: true } },
] as const
const places = listSignedUrlOrigins(stores, 'http://127.0.0.1:8787', ['agent-inputs/'])

const pieces = [
  'https:',
  'HTTPS:',
  'http:',
  '//',
  '/',
  '\\',
  '@',
  ':',
  ':443',
  ':8787',
  '?',
  '#',
  '&',
  ';',
  '=',
  '.',
  '..',
  '%2e',
  '%2E%2e',
  '%252e',
  '%2f',
  '%5c',
  '%00',
  '%',
  '\t',
  '\n',
  ' ',
  '\u0000',
  'ä',
  '。',
  '／',
  'xxx.supabase.co',
  'evil.example',
  '127.0.0.1',
  'storage/v1/object/sign',
  'agent-files',
  'agent-inputs',
  'secret',
  'img.jpg',
  'token=xxx',
  '?token=xxx',
  '/agent-inputs/',
]
const prefix = 'https://xxx.supabase.co/storage/v1/object/sign/agent-files/'

describe('parsing a signed URL', () => {
  test('never leaves its bucket and prefix, and never throws', () => {
    const hostile = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''))
    const urls = fc.oneof(
      hostile,
      hostile.map((rest) => `${prefix}${rest}`),
      hostile.map((rest) => `${prefix}agent-inputs/${rest}?token=x`),
    )
    let parsed = 0
    fc.assert(
      fc.property(urls, (url) => {
        const outcome = parseSignedUrl(url, places)
        if (outcome.kind === 'refused') return
        parsed += 1
        expect([outcome.store, outcome.bucket]).toEqual(['supabase', 'agent-files'])
        expect(outcome.path).toMatch(/^agent-inputs\/./)
        expect(outcome.path).not.toMatch(/[\\%?#\u0000-\u001f]|(^|\/)\.{0,2}(\/|$)/)
        // What a fetch would ask for is what we read.
        expect(decodeURIComponent(new URL(url).pathname).endsWith(`/agent-files/${outcome.path}`)).toBe(true)
      }),
      { numRuns: scaled(5000) },
    )
    expect(parsed).toBeGreaterThan(0)
  })

  test('takes plain http for our own origin and for nobody else', () => {
    const own = 'http://127.0.0.1:8787/storage/v1/object/sign/agent-inbox/agent-inputs/a.png?token=x'
    expect(parseSignedUrl(own, places)).toMatchObject({ kind: 'parsed', form: 'own', store: 's3' })
    expect(parseSignedUrl(own.replace(':8787', ''), places)).toMatchObject({ code: 'SU_SCHEME' })
    expect(parseSignedUrl(own.replace('http:', 'https:'), places)).toMatchObject({ code: 'SU_HOST' })
  })

  test('costs the length of what it is given, however long', () => {
    for (const piece of ['%', '/', './', '%2e', '&token=', 'a']) {
      const begun = process.cpuUsage().user / 1000
      expect(parseSignedUrl(`${prefix}${piece.repeat(1_000_000)}`, places).kind).toBe('refused')
      expect(process.cpuUsage().user / 1000 - begun).toBeLessThan(1000)
    }
  })
})
