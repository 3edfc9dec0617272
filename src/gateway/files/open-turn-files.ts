// The files of a turn before its agent runs: brought, kept, and handed out anew with everything that was said.
import type { HistoricalMessage, NormalizedMessage, Part } from '../../contract/index.ts'
import type { Absorbed } from '../../sessions/absorb-edits.ts'
import type { ReadyTurn } from '../prepare-turn.ts'
import { replyFacts } from '../turn-facts.ts'
import type { FetchContext } from './bring-file.ts'
import { bringFiles } from './bring-files.ts'
import { isFilePart } from './file-part.ts'
import { createTurnFiles, historyForAgent, type TurnFiles } from './turn-files.ts'

export type OpenedTurnFiles = {
  readonly files: TurnFiles
  readonly members: readonly NormalizedMessage[]
  readonly history: readonly HistoricalMessage[]
  /** For messages that join the turn while it runs. */
  readonly bring: (entries: readonly Absorbed[]) => Promise<readonly Absorbed[]>
}

export async function openTurnFiles(
  scene: FetchContext & { readonly ready: ReadyTurn },
  history: readonly HistoricalMessage[],
): Promise<OpenedTurnFiles> {
  const { deps, ready } = scene
  const { members, turn } = ready
  const brought = await bringFiles(scene, members)
  members.splice(0, members.length, ...brought)
  const whose = { principal: turn.principal ?? '', threadId: replyFacts(ready).threadId }
  const listSaidParts = (): readonly (readonly Part[])[] =>
    [...members.map(({ message }) => message), ...history].map(getParts)
  const files = createTurnFiles({ attachments: deps.attachments, ...whose }, listSaidParts)
  return {
    files,
    members: await Promise.all(members.map(({ message }) => messageForAgent(files, { ...message, raw: null }))),
    history: await historyForAgent(files, history),
    bring: (entries) => bringFiles(scene, entries),
  }
}

async function messageForAgent(files: TurnFiles, message: NormalizedMessage): Promise<NormalizedMessage> {
  return message.parts.some(isFilePart) ? { ...message, parts: await files.handed(message.parts) } : message
}

function getParts({ parts }: { readonly parts: readonly Part[] }): readonly Part[] {
  return parts
}
