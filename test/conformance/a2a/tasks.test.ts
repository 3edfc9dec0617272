// A2A cases: tasks.

import { conformA2a } from './a2a-setup.ts'
import { taskCases } from './task-cases.ts'

conformA2a('A2A task', taskCases)
