import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { conform } from '../conform.ts'
import { runControlCases } from './run-control-cases.ts'

describeOnDatabase('run control', (database) => conform('who may touch a run', runControlCases(database)))
