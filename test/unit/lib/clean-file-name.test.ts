// Names are for people to read, so they may neither hide, nor turn around, nor lead anywhere.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cleanFileName } from '../../../src/lib/clean-text.ts'

const names: readonly (readonly [given: string, shown: string | null])[] = [
  ['report.pdf', 'report.pdf'],
  ['Ünïcode 图.png', 'Ünïcode 图.png'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Windows\\system32\\evil.exe', 'evil.exe'],
  ['..\\..\\boot.ini', 'boot.ini'],
  ['a\u2215b\uff0fc.txt', 'c.txt'],
  ['.htaccess', 'htaccess'],
  ['...', null],
  ['/', null],
  ['', null],
  ['  spaced  .txt  ', 'spaced  .txt'],
  ['a\r\nSet-Cookie: x=1', 'x=1'],
  ['a\r\nb.txt', 'a b.txt'],
  ['a\u0000b.txt', 'ab.txt'],
  ['photo\u202egnp.exe', 'photognp.exe'],
  ['in\u200bvis\u2060ible.txt', 'invisible.txt'],
  ['line\u2028sep.txt', 'linesep.txt'],
  ['quo"te<b>?.txt', 'quo_te_b__.txt'],
  ['CON', '_CON'],
  ['nul.txt', '_nul.txt'],
  ['console.log', 'console.log'],
  ['half \ud800 pair.txt', 'half \ufffd pair.txt'],
]

describe('the name of a file', () => {
  test.each(names)('%j is shown as %j', (given, shown) => {
    expect(cleanFileName(given)).toBe(shown)
  })

  test('keeps its ending when it is too long', () => {
    const shown = cleanFileName(`${'n'.repeat(5000)}.pdf`) ?? ''
    expect(shown).toHaveLength(200)
    expect(shown.endsWith('n.pdf')).toBe(true)
  })

  test('is one short visible line without separators, whatever was sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (given) => {
        const shown = cleanFileName(given)
        if (shown === null) return
        expect(shown.length).toBeLessThanOrEqual(200)
        expect(shown).not.toMatch(/[/\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}"<>|?*]/u)
        expect(shown).not.toMatch(/^[.\s]|[.\s]$/)
        expect(shown.isWellFormed()).toBe(true)
      }),
    )
  })
})
