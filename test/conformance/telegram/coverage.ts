// Every case that concerns Telegram, and where it stands: run under its id, run by the core's
// own tests under another name, run with the outcome we chose instead, or left out with its reason. coverage.test.ts holds it to this.
import { type Coverage, core, covered, differs, leftOut } from '../case-list.ts'

const reading = 'unit/adapters/telegram/telegram.test.ts'
const sending = 'unit/adapters/telegram/deliver/deliver.test.ts'
const files = 'unit/adapters/telegram/files.test.ts'
const here = 'conformance/telegram'

export const coverage: readonly Coverage[] = [
  ...covered(reading, 'T01 T02 T03 T05 T06 T12 T21 T22 T23 T24 T25 T26 T27 T28 T29 T30 T31 T37 T38 T42 T43 T44 T45'),
  ...covered(reading, 'TG-01 TG-02 TG-03 TG-04 TG-05 TG-06 TG-07 TG-08 TG-11 TG-14'),
  ...covered(sending, 'T50 T51 T52 T53 T54 T57 T58 T59 T60 T66 T67 T68 TG-12 TG-13'),
  ...covered(files, 'T69'),
  ...covered(`${here}/ingress-cases.ts`, 'T13 X01 X07'),
  ...covered(`${here}/normalization-cases.ts`, 'T09 T20 T32 T35 T36 T39 T40 T63'),
  ...covered(`${here}/outbound-cases.ts`, 'T56 T70 T71'),
  ...covered(`${here}/live-cases.ts`, 'T61 T62'),
  ...covered(`${here}/rich-cases.ts`, 'T64 T65'),
  ...covered('journeys/telegram-albums.test.ts', 'T07 T34'),
  ...covered('journeys/telegram-closed-chats.test.ts', 'T33 T41'),

  differs(
    'T08',
    'journeys/telegram-albums.test.ts',
    'an item that comes after the turn was taken is a message of its own, so that it is answered; an amendment is not',
  ),

  core('T04', 'journeys/turns.test.ts', 'lets only the poison die'),
  core('T10', 'journeys/turns.test.ts', 'merges what one person said while the agent was busy, in order'),
  core('T11', 'runtime/journey.ts', 'apologises once for an agent that keeps failing, and goes on'),
  core('T55', 'interop/tdlib/corpus.test.ts', 'every piece is taken, and has the same text and the same ranges'),
  core('T72', 'journeys/approvals.test.ts', 'has expired'),
  core(
    'X02',
    'process/journeys/telegram.test.ts',
    'goes on after kill -9 where it was, without answering anything twice',
  ),
  core('X03', 'unit/adapters/telegram/deliver/deliver.test.ts', 'a connection dropped after the work'),
  core('X05', 'process/journeys/leaked-secrets.test.ts', 'none of the secrets is anywhere'),
  core('X06', 'runtime/journey.ts', 'answers a signed update in its chat, once, however often it is delivered'),

  leftOut(
    'T73',
    'the gateway serves no Mini App, so no launch data ever reaches it; a check that nothing calls would be dead code',
  ),
  leftOut(
    'TG-09',
    'a bot is not delivered what other bots write in groups: a relay would promise to wake who never hears it',
  ),
  leftOut('TG-10', 'as TG-09; and relay is set per connection, so it would be the same in every chat of a connection'),
  leftOut(
    'X04',
    'Telegram signs no time, so no clock of ours decides whether an update is genuine; another platform’s case',
  ),
]
