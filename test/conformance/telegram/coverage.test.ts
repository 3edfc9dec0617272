// The list in coverage.ts against the numbers of the cases and against the tests that are really there.
/// <reference types="vite/client" />
import { holdToCases } from '../case-list.ts'
import { coverage } from './coverage.ts'

const sources = import.meta.glob<string>(
  [
    '../../unit/adapters/telegram/**/*.ts',
    '../../{journeys,process/journeys}/*.ts',
    '../../runtime/*.ts',
    '../../interop/tdlib/*.ts',
    './*-cases.ts',
  ],
  { eager: true, query: '?raw', import: 'default' },
)

const numbered = (prefix: string, from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${prefix}${String(from + at).padStart(2, '0')}`)
const specified = [
  ...numbered('T', 1, 13),
  ...numbered('T', 20, 45),
  ...numbered('T', 50, 73),
  ...numbered('TG-', 1, 14),
  ...numbered('X', 1, 7),
]

holdToCases({
  title: 'the conformance suite of Telegram',
  coverage,
  specified,
  folder: 'conformance/telegram',
  sources,
})
