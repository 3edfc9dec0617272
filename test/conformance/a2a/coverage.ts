// Every case that concerns A2A, and where it stands: run under its id, run by other tests under
// another name, run with the outcome we chose instead, or left out with its reason. coverage.test.ts holds it to this.
import { type Coverage, core, covered, differs, leftOut } from '../case-list.ts'

const here = 'conformance/a2a'
const numbered = (prefix: string, from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => `${prefix}-${String(from + at).padStart(2, '0')}`).join(' ')

export const coverage: readonly Coverage[] = [
  ...covered(`${here}/card-cases.ts`, `${numbered('CD', 1, 9)} ${numbered('CD', 11, 16)}`),
  ...covered(`${here}/envelope-cases.ts`, `${numbered('EN', 1, 20)} ${numbered('VE', 1, 9)}`),
  ...covered(`${here}/send-cases.ts`, numbered('SE', 1, 23)),
  ...covered('process/journeys/a2a-killed.long.test.ts', 'SE-24'),
  ...covered(`${here}/stream-cases.ts`, `${numbered('ST', 1, 5)} ${numbered('ST', 7, 16)} ${numbered('ST', 18, 21)}`),
  ...covered('unit/adapters/a2a/a2a.test.ts', 'ST-06 A2-07'),
  ...covered('journeys/a2a.test.ts', 'ST-17'),
  ...covered(`${here}/task-cases.ts`, `${numbered('TA', 1, 10)} ${numbered('TA', 12, 18)} TA-20`),
  ...covered('db/statements/task-lists.test.ts', 'TA-19'),
  ...covered(`${here}/push-cases.ts`, `${numbered('PU', 1, 6)} PU-15 PU-16`),
  ...covered('journeys/a2a-push.test.ts', 'PU-08 PU-09 PU-10 PU-11 PU-13 PU-17'),
  ...covered(`${here}/identity-cases.ts`, 'AU-01 AU-06 AU-08 AU-11 AU-12 CH-01 CH-02 CH-03 CH-04 CH-07 CH-08'),
  ...covered('journeys/a2a-external-tokens.test.ts', 'AU-02 AU-05 AU-07'),
  ...covered(`${here}/identity-cases.ts`, 'A2-01 A2-02 A2-03 A2-06 A2-08 A2-09'),
  ...covered('journeys/forwarded-evidence.test.ts', 'A2-05'),
  ...covered(`${here}/legacy-cases.ts`, numbered('LG', 1, 14)),

  differs('CD-10', `${here}/card-cases.ts`, 'cards are made from what enforces them, so that they cannot disagree'),
  differs('TA-11', `${here}/task-cases.ts`, 'with 23 tasks; what 250 would show is shown by the index in TA-19'),

  core('AU-03', 'unit/identity/issuers/issuer-keys.test.ts', 'a new one is found with one more request'),
  core('AU-04', 'unit/identity/issuers/issuer-keys.test.ts', 'count for an hour while the issuer is down'),
  core('AU-09', 'journeys/external-tokens.test.ts', 'owns what it began together with whoever acts for it'),
  core('AU-10', 'journeys/external-tokens.test.ts', 'is asked about where its token is opaque'),
  core('CH-05', 'security/identity/api-chains.test.ts', 'lets a chain pass once and not come round'),
  core('CH-06', 'journeys/call-chain-of-timers.test.ts', 'a timer does not make it shorter'),
  core('A2-04', `${here}/send-cases.ts`, 'the same message again, later or at once, is one run and one task'),

  leftOut('PU-07', 'the guarded fetch judges and pins every address: test/unit/node/guarded-fetch.test.ts'),
  leftOut(
    'PU-12',
    'a push is a row of the outbox in a lane of its own: nobody waits for it (test/journeys/deliveries.test.ts)',
  ),
  leftOut('PU-14', 'as every row of the outbox: test/journeys/deliveries.test.ts'),
]
