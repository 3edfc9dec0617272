import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { conform } from '../conform.ts'
import { sessionCases } from './session-cases.ts'

describeOnDatabase('sessions', (database) => conform('and whose they are', sessionCases(database)))
