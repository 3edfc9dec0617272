// Readiness: asks for the locks an arrival needs and stores nothing. A database that only reads, or a locked table, is not ready.
import { statement } from '../database.ts'

export const probe = statement(
  'probe',
  `with stored as (insert into inbox (id) select gen_random_uuid() where false),
     queued as (insert into lanes (conversation_id) select gen_random_uuid() where false)
   select 1 as ok`,
)
