"""One task of each feature, with the client that openapi-python-client makes of the document."""

import io
import json
import sys
from typing import Any, Protocol

from atelier_client import AuthenticatedClient
from atelier_client.api.account import get_credits
from atelier_client.api.chat import chat
from atelier_client.api.integrations import list_integrations
from atelier_client.api.runs import execute_workflow, get_run, list_runs
from atelier_client.api.scheduling import create_event_type
from atelier_client.api.studio import generate_image
from atelier_client.api.voice import create_speech, create_transcription
from atelier_client.api.webhooks import create_webhook
from atelier_client.api.workflows import create_workflow, get_workflow
from atelier_client.models.chat_request import ChatRequest
from atelier_client.models.error_response import ErrorResponse
from atelier_client.models.image_request import ImageRequest
from atelier_client.models.new_event_type import NewEventType
from atelier_client.models.new_webhook import NewWebhook
from atelier_client.models.new_workflow import NewWorkflow
from atelier_client.models.run_detail_a import RunDetailA
from atelier_client.models.speech_request import SpeechRequest
from atelier_client.models.transcription_request import TranscriptionRequest
from atelier_client.models.workflow_execution import WorkflowExecution
from atelier_client.types import File


class Answer(Protocol):
    """What every answer can do."""

    def to_dict(self) -> dict[str, Any]: ...


def data_of(answer: Answer | None) -> dict[str, Any]:
    """The data of an answer that is a success."""
    if answer is None or isinstance(answer, ErrorResponse):
        raise RuntimeError(f"The request failed: {answer}")
    data: dict[str, Any] = answer.to_dict()["data"]
    return data


base_url, key = sys.argv[1:3]
client = AuthenticatedClient(base_url=base_url, token=key)

steps = [{"id": "greet", "type": "prompt", "prompt": "Greet {{input}}."}]
created = data_of(create_workflow.sync(client=client, body=NewWorkflow.from_dict({"name": "Python", "steps": steps})))
workflow_id = created["id"]
executed = data_of(
    execute_workflow.sync(workflow_id, client=client, body=WorkflowExecution.from_dict({"input": "Ada"}))
)
run_id = executed["runId"]
run = data_of(get_run.sync(run_id, client=client))
assert RunDetailA.from_dict(run).id is not None
runs = data_of(list_runs.sync(client=client, workflow_id=workflow_id))

reply = data_of(chat.sync(client=client, body=ChatRequest.from_dict({"messages": [{"role": "user", "content": "Hi"}]})))
image = data_of(generate_image.sync(client=client, body=ImageRequest.from_dict({"prompt": "A lighthouse"})))
speech = create_speech.sync(client=client, body=SpeechRequest.from_dict({"text": "Hello from Python."}))
assert isinstance(speech, File)
sound = io.BytesIO(speech.payload.read())
recording = TranscriptionRequest(audio=File(payload=sound, file_name="hello.mp3", mime_type="audio/mpeg"))
transcription = data_of(create_transcription.sync(client=client, body=recording))
event_type = data_of(
    create_event_type.sync(client=client, body=NewEventType.from_dict({"name": "Call", "duration": 30}))
)
hook = {"name": "Python", "url": "https://hooks.example.com/python", "events": ["workflow.run.completed"]}
webhook = data_of(create_webhook.sync(client=client, body=NewWebhook.from_dict(hook)))
integrations = data_of(list_integrations.sync(client=client))["integrations"]
credits = data_of(get_credits.sync(client=client))
missing = get_workflow.sync("01990000-0000-7000-8000-000000000000", client=client)

print(
    json.dumps(
        {
            "run": run["status"],
            "runs": len(runs["runs"]),
            "reply": bool(reply["content"]),
            "image": len(image) > 0,
            "transcription": transcription["text"] != "",
            "eventType": event_type["name"],
            "webhook": webhook["secret"][:6],
            "integrations": len(integrations) > 0,
            "credits": credits["balance"] > 0,
            "missing": isinstance(missing, ErrorResponse) and missing.error.code,
        }
    )
)
