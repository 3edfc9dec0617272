// Who may write at all, on every path: from their own server, through a community, or above a mention. A block wins.
import type { Blocks } from './blocks.ts'
import { isPeerListed, type ModerationRules } from './manners.ts'

/** By the actor's address. */
export type MayWrite = (actor: string) => Promise<boolean>

export function createWritePermission({ allow }: Pick<ModerationRules, 'allow'>, blocks: Blocks): MayWrite {
  return async (actor) => !(await blocks.turnsAway(actor)) && (allow.length === 0 || isPeerListed(allow, actor))
}
