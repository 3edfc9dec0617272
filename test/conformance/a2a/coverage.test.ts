// The list in coverage.ts against the numbers of the cases and against the tests that are really there.
/// <reference types="vite/client" />
import { holdToCases } from '../case-list.ts'
import { coverage } from './coverage.ts'

const sources = import.meta.glob<string>(
  [
    '../../unit/adapters/a2a/*.ts',
    '../../{journeys,process/journeys}/*.ts',
    '../../db/statements/*.ts',
    '../../security/identity/*.ts',
    '../../unit/identity/issuers/*.ts',
    './*-cases.ts',
  ],
  { eager: true, query: '?raw', import: 'default' },
)

const last = { CD: 16, EN: 20, VE: 9, SE: 24, ST: 21, TA: 20, PU: 17, AU: 12, CH: 8, LG: 14, A2: 9 }
const specified = Object.entries(last).flatMap(([prefix, count]) =>
  Array.from({ length: count }, (_, at) => `${prefix}-${String(at + 1).padStart(2, '0')}`),
)

holdToCases({ title: 'the conformance suite of A2A', coverage, specified, folder: 'conformance/a2a', sources })
