// What a sender declares may be loose, but not a lie.
import { expect, test } from 'vitest'
import { isTypePlausible } from '../../../src/files/store-file.ts'

const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const cases: readonly (readonly [declared: string | undefined, sniffed: string, isPossible: boolean])[] = [
  [undefined, 'text/html', true],
  ['', 'image/png', true],
  ['application/octet-stream', 'text/html', true],
  ['image/png', 'image/png', true],
  ['IMAGE/PNG; q=1', 'image/png', true],
  ['image/png', 'image/jpeg', true],
  ['image/jpg', 'image/jpeg', true],
  ['image/png', 'text/html', false],
  ['image/png', 'text/plain', false],
  ['image/png', 'application/octet-stream', false],
  ['image/jxl', 'application/octet-stream', true],
  ['image/svg+xml', 'image/svg+xml', true],
  ['image/png', 'image/svg+xml', false],
  ['text/plain', 'text/html', true],
  ['text/csv', 'text/plain', true],
  ['application/json', 'text/plain', true],
  ['text/plain', 'application/x-elf', false],
  ['text/plain', 'application/octet-stream', true],
  ['application/pdf', 'text/html', false],
  ['application/pdf', 'application/pdf', true],
  ['application/pdf', 'application/octet-stream', false],
  ['audio/ogg', 'video/ogg', true],
  ['audio/mpeg', 'image/png', false],
  ['video/mp4', 'text/html', false],
  [docx, 'application/zip', true],
  [docx, 'application/x-ole-storage', true],
  [docx, 'text/html', false],
  ['application/zip', docx, true],
  ['application/zip', 'application/x-elf', false],
  ['application/x-unheard-of', 'text/html', true],
  ['not a type', 'image/png', true],
]

test.each(cases)('declared %j, bytes of %s: %s', (declared, sniffed, isPossible) => {
  expect(isTypePlausible(declared, sniffed)).toBe(isPossible)
})
