// Tasks of a gateway where no task was ever asked for.
import type { TaskService } from '../contract/index.ts'

export const noTasks: TaskService = {
  ofMessage: async () => undefined,
  cursorBefore: async () => '0',
  ofMessageId: async () => undefined,
  find: async () => undefined,
  read: async () => undefined,
  list: async () => ({ tasks: [], total: 0, hasMore: false }),
  waits: async () => [],
  isForeignContext: async () => false,
  async *watch() {},
  settled: async () => undefined,
  cancel: async () => undefined,
  push: {
    save: async () => undefined,
    find: async () => undefined,
    list: async () => undefined,
    remove: async () => false,
    receiver: async () => undefined,
    reported: async () => undefined,
    disable: async () => {},
  },
}
