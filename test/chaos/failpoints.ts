// Every place where the process is killed once: before and after each hot statement and each call to the outside.
import type { SeededRandom } from './seeded-random.ts'
import type { FailpointPlan } from './subject-settings.ts'

const statements = [
  'accept',
  'claim_lanes',
  'open_turn',
  'transcript_window',
  'begin_step',
  'finish_step',
  'renew_lanes',
  'complete_turn',
  'release_lane',
  'split_turn',
  'resume_turn',
  'claim_sends',
  'start_send',
  'settle_send',
  'release_send',
  'fire_timers',
] as const

const outside = [
  'before:answer',
  'before:effect',
  'after:effect',
  'before:deliver',
  'after:deliver',
  'before:reconcile',
]

/** Passed so rarely that the first time must do. */
const rare = /(split_turn|resume_turn|release_lane|renew_lanes|reconcile)$/

export const failpointNames: readonly string[] = [
  ...statements.flatMap((name) => [`before:${name}`, `after:${name}`]),
  ...outside,
]

export function planKill(name: string, random: SeededRandom): FailpointPlan {
  return { name, hit: rare.test(name) ? 1 : random.between(1, 3), action: 'kill' }
}
