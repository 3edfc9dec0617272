// The handler of each operation, for every binding and version.
import type { Fields } from '../wire/fields.ts'
import type { OperationName } from '../wire/operations.ts'
import type { A2aDeps, Call, Operation, Outcome } from './call.ts'
import { getExtendedCard } from './extended-card.ts'
import { createPush, deletePush, getPush, listPush } from './push.ts'
import { sendMessage } from './send.ts'
import { streamMessage, subscribeToTask } from './stream.ts'
import { cancelTask, getTask, listTasks } from './tasks.ts'

const table: Readonly<Record<OperationName, Operation>> = {
  send: sendMessage,
  stream: streamMessage,
  get: getTask,
  list: listTasks,
  cancel: cancelTask,
  subscribe: subscribeToTask,
  pushCreate: createPush,
  pushGet: getPush,
  pushList: listPush,
  pushDelete: deletePush,
  extendedCard: getExtendedCard,
}

export function dispatch(deps: A2aDeps, call: Call, name: OperationName, params: Fields): Promise<Outcome> {
  return table[name](deps, call, params)
}
