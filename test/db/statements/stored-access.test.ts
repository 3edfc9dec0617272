// What is written down about a sender, as it comes with the message: what counts here is never crowded out by what does not.
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { hold } from '../../doubles/stored-sessions.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const block = nameStatement(
  'test_block',
  `insert into grants (tenant, id, subject, effect, connection, source, created_by)
   select 'default', gen_random_uuid(), 'test:ada', 'deny', $1, 'operator', 'test' from generate_series(1, $2::int)`,
)

describeOnDatabase('what is stored about a sender', (database) => {
  test('holds the block that counts here, however many there are elsewhere', async () => {
    await database().query(block, ['elsewhere', 200])
    await database().query(block, ['test', 1])
    const { messages } = await hold(database(), { subject: 'test:ada', conversation: 'c1' })
    expect(messages[0]?.access.grants).toMatchObject([{ effect: 'deny', connection: 'test' }])
  })
})
