// Every case that concerns ActivityPub, and where it stands: run under its id, run by
// other tests under another name, run with the outcome we chose instead, or left out with its reason. coverage.test.ts holds it to this.
import { type Coverage, core, covered, differs } from '../case-list.ts'

const here = 'conformance/activitypub'
const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => `AP-${String(from + at).padStart(3, '0')}`).join(' ')

export const coverage: readonly Coverage[] = [
  ...covered(`${here}/discovery.test.ts`, numbered(1, 5)),
  ...covered(`${here}/document-cases.ts`, numbered(6, 12)),
  ...covered(`${here}/cavage-cases.ts`, `${numbered(20, 29)} AP-038 AP-039`),
  ...covered(`${here}/rfc9421-cases.ts`, numbered(30, 37)),
  ...covered(`${here}/key-cases.ts`, numbered(40, 46)),
  ...covered(`${here}/remote-cases.ts`, 'AP-047'),
  ...covered(`${here}/proof-cases.ts`, 'AP-048 AP-049'),
  ...covered('unit/adapters/activitypub/signatures/vectors.test.ts', 'AP-051 AP-052'),
  ...covered(`${here}/body-cases.ts`, numbered(53, 64)),
  ...covered('journeys/activitypub.test.ts', 'AP-065 AP-066 AP-099'),
  ...covered('journeys/activitypub-limits.test.ts', 'AP-067 AP-113'),
  ...covered('journeys/activitypub-edits.test.ts', 'AP-050'),
  ...covered('journeys/activitypub-community.test.ts', 'AP-105'),
  ...covered(`${here}/message-cases.ts`, `${numbered(80, 98)} ${numbered(102, 104)} ${numbered(106, 112)} AP-114`),
  ...covered(`${here}/replies.test.ts`, `${numbered(130, 141)} AP-143 AP-144`),
  ...covered('interop/activitypub/signatures.test.ts', 'AP-142'),
  ...covered(`${here}/evidence-cases.ts`, 'AP-01 AP-02 AP-03'),
  ...covered(`${here}/proof-cases.ts`, 'AP-04'),
  ...covered(`${here}/message-cases.ts`, 'AP-06'),

  differs(
    'AP-100',
    'journeys/activitypub-threads.test.ts',
    'no server is asked where a thread began; of what is answered three posts are read',
  ),
  ...covered('journeys/activitypub-threads.test.ts', 'AP-101'),

  core('AP-05', `${here}/replies.test.ts`, 'AP-130'),
]
