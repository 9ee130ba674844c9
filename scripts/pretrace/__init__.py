"""pretrace: was this text in that model's pretraining data?"""
