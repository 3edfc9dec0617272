// Who may write at all, on every path: from their own server, through a community, or above a mention. A block wins.
import type { Blocks } from './blocks.ts'
import { isListed, type Manners } from './manners.ts'

/** By the actor's address. */
export type MayWrite = (actor: string) => Promise<boolean>

export function createMayWrite({ allow }: Pick<Manners, 'allow'>, blocks: Blocks): MayWrite {
  return async (actor) => !(await blocks.turnsAway(actor)) && (allow.length === 0 || isListed(allow, actor))
}
