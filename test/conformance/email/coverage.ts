// Every case that concerns email, and where it stands: run under its id, run by other
// tests under another name, run with the outcome we chose instead, or left out with its reason. coverage.test.ts holds it to this.
import { type Coverage, core, covered, differs, leftOut } from '../case-list.ts'

const here = 'conformance/email'
const numbered = (prefix: string, width: number, from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => `${prefix}-${String(from + at).padStart(width, '0')}`).join(' ')
const cases = (from: number, to: number): string => numbered('EM', 3, from, to)

export const coverage: readonly Coverage[] = [
  ...covered(`${here}/signature-cases.ts`, `${cases(1, 5)} ${cases(17, 19)} ${cases(23, 26)}`),
  ...covered(`${here}/authentication-cases.ts`, `${cases(6, 14)} EM-016 EM-022 ${cases(27, 34)} EM-036`),
  ...covered(`${here}/authentication-cases.ts`, numbered('EM', 2, 1, 5)),
  core('EM-015', 'security/email/attacks.test.ts', 'none of them is taken for the victim'),
  core('EM-020', `${here}/authentication-cases.ts`, 'Subject: Transfer'),
  core('EM-021', `${here}/authentication-cases.ts`, 'Content-Type: multipart/mixed; boundary=x'),
  core('EM-035', 'runtime/workerd/email-auth.test.ts', 'EM-035'),

  ...covered(`${here}/ingress-smtp-cases.ts`, `${cases(50, 55)} EM-063`),
  ...covered(`${here}/ingress-hook-cases.ts`, `${cases(56, 59)} EM-062`),
  ...covered('interop/email/imap.test.ts', 'EM-064'),
  differs(
    'EM-061',
    'unit/adapters/email/ingress/email-event.test.ts',
    'throwing and setReject as specified; reply() is not used: a reply goes out like any other, after the turn',
  ),
  leftOut('EM-060', 'there is no preset for Resend or SendGrid: a forwarder signs the raw bytes, see EM-056'),

  ...covered(`${here}/parsing-cases.ts`, cases(80, 94)),
  ...covered(`${here}/quotes.test.ts`, cases(120, 123)),

  ...covered(`${here}/threads.test.ts`, `${cases(110, 114)} ${cases(116, 119)} EM-139 EM-07`),
  differs('EM-115', `${here}/threads.test.ts`, 'a subject joins nothing, however recent'),
  ...covered(`${here}/loops.test.ts`, `${cases(124, 133)} EM-06 EM-08`),
  ...covered(`${here}/replies.test.ts`, cases(134, 138)),

  core(
    'X-001',
    'unit/identity/access-policy.test.ts',
    'what counts for a person counts under every subject linked to them',
  ),
  core('X-002', 'architecture/presentation.test.ts', 'holds for identity'),
  ...covered(`${here}/replies.test.ts`, 'X-003'),
  ...covered('journeys/email.test.ts', 'X-004'),
  ...covered('process/journeys/email.test.ts', 'X-005'),
  ...covered(`${here}/fuzzed.test.ts`, 'X-006'),
  ...covered('journeys/email-flood.test.ts', 'X-007'),
  core('X-008', 'journeys/raw-blobs.test.ts', 'goes with whoever sent it, and nobody else’s does'),
]
