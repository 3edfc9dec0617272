// Whose trace a message belongs to (W3C Trace Context).
import { expect, test } from 'vitest'
import { readTraceIdFromTraceparent } from '../../../src/lib/ids.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const parent = '00f067aa0ba902b7'

test.each([
  ['version 00', `00-${trace}-${parent}-01`],
  ['a later version', `01-${trace}-${parent}-01`],
  ['a later version with more fields', `cc-${trace}-${parent}-01-what-comes-next`],
])('a trace id is taken over from %s', (_name, header) => {
  expect(readTraceIdFromTraceparent(header)).toBe(trace)
})

test.each([
  ['nothing', undefined],
  ['an empty header', ''],
  ['version ff', `ff-${trace}-${parent}-01`],
  ['version 00 with more fields', `00-${trace}-${parent}-01-more`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${parent}-01`],
  ['a parent of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
  ['upper case', `00-${trace.toUpperCase()}-${parent}-01`],
  ['a short trace', `00-${trace.slice(1)}-${parent}-01`],
  ['something else', 'Bearer secret'],
  ['a line too many', `00-${trace}-${parent}-01\n`],
  ['a header without end', `01-${trace}-${parent}-01-${'x'.repeat(1_000)}`],
])('no trace id is taken over from %s', (_name, header) => {
  expect(readTraceIdFromTraceparent(header)).toBeUndefined()
})
