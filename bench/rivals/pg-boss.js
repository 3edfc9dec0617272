// pg-boss, two jobs for a message: one answers, one sends. Its queues notify, so that polling is not what is measured. The webhook
// is answered once the first job is stored. Network code as in the references.
import { createHash } from 'node:crypto'
import { PgBoss } from 'pg-boss'
import { answerAtOnce, createSender, listenForUpdates } from '../references/wire.js'

// One fetch takes all that wait: several workers of one job each would all be woken for every job.
const working = {
  batchSize: 32,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  notifyPollingIntervalSeconds: 0.5,
}

export async function start({ databaseUrl, path, webhookSecret, botToken, apiUrl }) {
  let handled = 0
  const { send, close: closeSender } = createSender({ apiUrl, botToken })
  const boss = new PgBoss({ connectionString: databaseUrl, max: 10, useListenNotify: true })
  boss.on('error', (error) => console.error(`pg-boss: ${error.message}`))
  await boss.start()
  for (const queue of ['answer', 'send']) await boss.createQueue(queue, { notify: true })
  await boss.work('answer', working, async (jobs) => {
    handled += jobs.length
    const replies = jobs.map(({ data }) => ({ data: { chat_id: data.chat, text: answerAtOnce(data.text) } }))
    await boss.insert('send', replies)
  })
  await boss.work('send', working, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => send(data)))
  })
  const { port, close } = await listenForUpdates({ path, webhookSecret }, ({ update_id: update, message }) =>
    // The same update is the same job.
    boss.send('answer', { chat: message.chat.id, text: message.text }, { id: nameToUuid(`telegram:${update}`) }),
  )
  const stop = async () => {
    close()
    await boss.stop({ graceful: false })
    closeSender()
  }
  return { port, stop, handled: () => handled }
}

function nameToUuid(name) {
  const hex = createHash('sha256').update(name).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}
