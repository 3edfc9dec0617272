// The list in coverage.ts against the numbers of the cases and against the tests that are really there.
/// <reference types="vite/client" />
import { holdToCases } from '../case-list.ts'
import { coverage } from './coverage.ts'

const sources = import.meta.glob<string>(
  [
    '../../unit/adapters/email/**/*.ts',
    '../../unit/{contract,lib}/*.ts',
    '../../{journeys,process/journeys}/*.ts',
    '../../runtime/workerd/*.ts',
    '../../security/email/*.ts',
    '../../interop/email/*.ts',
    '../../architecture/*.ts',
    '../../unit/identity/*.ts',
    './*.ts',
    '!./coverage*.ts',
  ],
  { eager: true, query: '?raw', import: 'default' },
)

const numbered = (prefix: string, width: number, from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${prefix}-${String(from + at).padStart(width, '0')}`)
const specified = [
  ...numbered('EM', 3, 1, 36),
  ...numbered('EM', 3, 50, 64),
  ...numbered('EM', 3, 80, 94),
  ...numbered('EM', 3, 110, 139),
  ...numbered('EM', 2, 1, 8),
  ...numbered('X', 3, 1, 8),
]

holdToCases({ title: 'the conformance suite of mail', coverage, specified, folder: 'conformance/email', sources })
