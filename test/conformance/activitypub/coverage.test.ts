// The list in coverage.ts against the numbers of the cases and against the tests that are really there.
/// <reference types="vite/client" />
import { holdToCases } from '../case-list.ts'
import { coverage } from './coverage.ts'

const sources = import.meta.glob<string>(
  [
    '../../unit/adapters/activitypub/**/*.test.ts',
    '../../{journeys,process/journeys}/*.ts',
    '../../db/statements/*.ts',
    '../../interop/activitypub/*.test.ts',
    './*-cases.ts',
    './*.test.ts',
  ],
  { eager: true, query: '?raw', import: 'default' },
)

const ranges: readonly (readonly [number, number])[] = [
  [1, 12],
  [20, 67],
  [80, 114],
  [130, 144],
]
const mail = ranges.flatMap(([from, to]) =>
  Array.from({ length: to - from + 1 }, (_, at) => `AP-${String(from + at).padStart(3, '0')}`),
)
const msg = ['AP-01', 'AP-02', 'AP-03', 'AP-04', 'AP-05', 'AP-06']

holdToCases({
  title: 'the conformance suite of ActivityPub',
  coverage,
  specified: [...mail, ...msg],
  folder: 'conformance/activitypub',
  sources,
})
